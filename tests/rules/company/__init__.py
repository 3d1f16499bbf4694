"""A claim in company: others decide with it where it goes."""
