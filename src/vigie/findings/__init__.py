"""One file per finding: when it holds, what it means, what to do."""
