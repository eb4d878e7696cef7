"""Figures of the MySQL and MariaDB servers, asked for over a connection of their own."""
