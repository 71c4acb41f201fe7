"""Words in lines: tables, times, numbers and colours for whoever types a command."""
