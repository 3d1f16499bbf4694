"""The loops that carry a claim through its life: each reads, decides by a rule, acts."""
