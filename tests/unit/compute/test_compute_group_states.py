"""States of groups, streams, functions of group ids, Grouper and colliding hashes, on every device."""

from group_states_checks import *  # noqa: F403
