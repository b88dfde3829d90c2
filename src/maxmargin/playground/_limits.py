"""What one page may ask for; a page that needs more is told so."""

from __future__ import annotations

#: Characters of a message; 2,000 points take about 60,000, and a pasted table may take more.
MOST_CHARACTERS = 1_000_000
#: Points of a plane.
MOST_POINTS = 2_000
#: Columns and rows of a grid of scores.
FINEST_GRID = 400
#: Seconds that one piece of work may take: a fit ends with what it has, a sequence of them with the last one.
MOST_SECONDS = 4.0
#: Seconds that a picture of it may take on top.
DRAWING_SECONDS = 3.0
#: Seconds that work goes on after the same tab has asked for something newer of the same kind.
GRACE_SECONDS = 0.25
#: Answers that a tab may leave unread before it gets no more work done.
MOST_UNREAD = 8
#: Tabs at one time.
MOST_TABS = 200
