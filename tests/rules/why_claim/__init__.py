"""Why a claim is as it is: every state has its sentences, its cards and its next steps."""
