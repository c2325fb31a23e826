"""Who decided what: read line by line, and each line checked against the log."""
