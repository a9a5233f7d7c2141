"""Servers that speak MySQL's protocol: MariaDB, MySQL, Percona Server. A kind is one file: `mariadb.py`, `mysql.py`."""
