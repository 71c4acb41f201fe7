"""The keys, for those who ask."""

HELP = (
    "Keys",
    "",
    "  arrows, h j k l     choose; Tab, Shift-Tab: the next section, the one before",
    "  PgUp PgDn Home End  far",
    "  Enter               open what is chosen: a node, GPU, job, something wrong",
    "  0 to 9              open that GPU of the chosen node",
    "  Esc, Backspace      back",
    "  m, M                what a GPU's character tells: holder, busy, SM, memory,",
    "                      power, temperature, health; M: the one before",
    "  e                   everything that was found, open and over",
    "  /                   show only what has these words; Esc shows everything again",
    "  t                   now; what is over opens at the minute when it began",
    "  q                   quit",
    "",
    "  A colour means trouble. What is not known is hatched, and never shown as 0.",
)
