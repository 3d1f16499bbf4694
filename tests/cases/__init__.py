"""The cases: journeys of claims and pods on the real cluster, under the chart's ServiceAccounts."""
