"""Expressions: functions of columns, computed when there is a batch."""
