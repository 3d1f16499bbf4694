"""What a card is called in the cluster: the same name for as long as it sits in the same node."""

from __future__ import annotations

import re
from hashlib import sha256

LONGEST = 253
"""Characters of an object's name."""


def card_name(node: str, uuid: str) -> str:
    """Name of the GPU object: the node, and the first 8 digits of the card's uuid.

    >>> card_name("node-a", "GPU-0a1b2c3d-5e6f-7081-92a3-b4c5d6e7f809")
    'node-a-0a1b2c3d'
    """
    digits = re.sub("[^0-9a-f]", "", uuid.lower().removeprefix("gpu-"))
    short = digits[:8] if len(digits) >= 8 else sha256(uuid.encode()).hexdigest()[:8]
    return f"{node[: LONGEST - 9].lower()}-{short}"
