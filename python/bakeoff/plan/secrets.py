"""Which keys hold secrets, by their names: a plan is copied into every bundle, so none may stand in it."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"password|passwd|passphrase|secret|token|credential|authorization|(api|access|private|encryption)_?key$"
    r"|(^|_)(auth|pass|pwd)($|_)"
)
#: Settings of servers of the MySQL family that say how secrets are handled, and are none.
_HARMLESS = frozenset(
    {
        "authentication_policy",
        "default_authentication_plugin",
        "default_password_lifetime",
        "disconnect_on_expired_password",
        "innodb_ft_max_token_size",
        "innodb_ft_min_token_size",
        "max_password_errors",
        "ngram_token_size",
        "old_passwords",
        "password_history",
        "password_require_current",
        "password_reuse_check_interval",
        "password_reuse_interval",
        "secure_auth",
        "show_slave_auth_info",
        "strict_password_validation",
    }
)
_HARMLESS_BEGINNINGS = ("validate_password", "simple_password_check", "cracklib_password_check", "sha256_password_")


def names_a_secret(key: str) -> bool:
    """Of a key, or of a dotted path to one: "mariadb.settings.wsrep_sst_auth"."""
    name = key.rsplit(".", 1)[-1].lower().replace("-", "_")
    return bool(_SECRET.search(name)) and name not in _HARMLESS and not name.startswith(_HARMLESS_BEGINNINGS)
