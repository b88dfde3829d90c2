"""The page's style and its one script. Light, dark and print differ in the values of a few variables only."""

from __future__ import annotations

import base64
import hashlib

LIGHT = """
--page:#fff;--ink:#1b1f24;--muted:#57606a;--line:#d0d7de;--panel:#f6f8fa;--link:#0b57a4;
--c1:#0b62a8;--c2:#c2500a;--c3:#00795c;--c4:#a8447c;--c5:#7a6200;--heat:#08306b;--wrong:#8a2a00;
--zone1:#0b62a8;--zone2:#6db3e8;--zone3:#f0a030;--zone4:#b8400a;--note:#fff7e0;--note-line:#b98a00;--good:#00664d;
"""
DARK = """
--page:#12161c;--ink:#e6e9ed;--muted:#a3adb8;--line:#3a434e;--panel:#1b2129;--link:#8cc2ff;
--c1:#6fb7ff;--c2:#ff9d5c;--c3:#4fd1ae;--c4:#f08cc4;--c5:#e0c341;--heat:#a8d0ff;--wrong:#ffb38a;
--zone1:#4a9fe8;--zone2:#a9d8fb;--zone3:#f7c25c;--zone4:#f07b3c;--note:#2b2612;--note-line:#d0a62a;--good:#63d9b6;
"""
RULES = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0 auto;padding:1rem;max-width:62rem;background:var(--page);color:var(--ink);
 font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.7rem;line-height:1.25;margin:.4rem 0}
h2{font-size:1.25rem;margin:0 0 .6rem;padding-top:1.1rem;border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.2rem 0 .4rem}
section{margin-top:1.8rem}
p,ul{margin:.5rem 0;max-width:46rem}
a{color:var(--link)}
.lead{color:var(--muted)}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem .9rem;list-style:none;padding:0;max-width:none}
nav a{display:inline-block;padding:.25rem 0}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.9em}
pre{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:.8rem;overflow-x:auto;
 overflow-wrap:normal}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;margin:1rem 0;padding:0}
.figures div{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.6rem .8rem}
.figures dt{color:var(--muted);font-size:.85rem}
.figures dd{margin:0;font-size:1.45rem;font-weight:600;line-height:1.3;overflow-wrap:normal}
.figures dd small{display:block;font-size:.8rem;font-weight:400;color:var(--muted);line-height:1.4}
.figures .verdict{grid-column:1/-1;border-left:4px solid var(--good)}
.figures .verdict.unsure{border-left-color:var(--note-line)}
.figures .verdict.not-better{border-left-color:var(--zone4)}
.figures .verdict small{font-size:.95rem;color:var(--ink)}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;margin:.6rem 0;font-size:.92rem;min-width:13rem}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.3rem .9rem .3rem 0;border-bottom:1px solid var(--line);
 min-width:3.5rem;max-width:26rem;overflow-wrap:break-word}
td:not(.number){min-width:6.5rem}
td code{white-space:nowrap}
.long{overflow-wrap:anywhere}
tbody th{font-weight:600}
td.number,th.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
thead th,thead th.number{min-width:4.5rem;font-size:.85rem;color:var(--muted);vertical-align:bottom;white-space:normal}
.notes{list-style:none;padding:0;max-width:none}
.notes li,.missing{border-left:4px solid var(--note-line);background:var(--note);padding:.45rem .8rem;margin:.4rem 0}
.missing{border-color:var(--line);background:var(--panel);color:var(--muted)}
.notes b{margin-right:.4rem}
.proof{font-size:1.1rem;border-left:4px solid var(--good);padding:.3rem .9rem;margin:.8rem 0}
.proof.open{border-color:var(--zone4)}
details{margin:.6rem 0}summary{cursor:pointer;padding:.25rem 0}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,25rem),1fr));gap:1rem 1.5rem;
 align-items:start}
.charts>*{min-width:0}
figure{margin:.8rem 0;min-width:0}
figcaption p,figure>p{color:var(--muted);font-size:.88rem;margin:.1rem 0 .3rem}
svg{display:block;height:auto;max-width:100%}
.wide svg{max-width:none}
.charts .wide{grid-column:1/-1}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem 1rem;padding:0;font-size:.88rem}
.key{display:inline-block;width:.85em;height:.85em;margin-right:.4em;border-radius:2px;vertical-align:-.08em}
svg text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;font-size:12.5px;
 fill:var(--ink)}
svg .tick{font-size:12px;fill:var(--muted)}
svg .axis-title{fill:var(--muted)}
svg .value{font-weight:600}
svg .small{font-size:10px}
svg .over-strong{fill:var(--page)}
.grid{stroke:var(--line);stroke-width:.6}
.axis{stroke:var(--muted);stroke-width:1}
.curve{fill:none;stroke-width:2;stroke-linejoin:round}
.reference{fill:none;stroke:var(--muted);stroke-width:1.2;stroke-dasharray:5 4}
.mark{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3}
.whisker{stroke:var(--c1);stroke-width:1.2}
.band{fill:var(--c1);fill-opacity:.15}
.dots{fill:none;stroke:var(--c1);stroke-width:4.5;stroke-linecap:round;stroke-opacity:.5}
.curve.c1{stroke:var(--c1)}.curve.c2{stroke:var(--c2)}.curve.c3{stroke:var(--c3)}.curve.c4{stroke:var(--c4)}
.curve.c5{stroke:var(--c5)}.faint{stroke-width:1;stroke-opacity:.6}
.d2{stroke-dasharray:7 3}.d3{stroke-dasharray:2 3}.d4{stroke-dasharray:9 3 2 3}
.point.c1,.bar.c1{fill:var(--c1)}
.bar.zone-1{fill:var(--zone1)}.bar.zone-2{fill:var(--zone2)}.bar.zone-3{fill:var(--zone3)}.bar.zone-4{fill:var(--zone4)}
.key.zone-1{background:var(--zone1)}.key.zone-2{background:var(--zone2)}.key.zone-3{background:var(--zone3)}
.key.zone-4{background:var(--zone4)}
.backing{fill:var(--page)}.heat{fill:var(--heat)}.heat-wrong{fill:var(--wrong)}
.cell{fill:none;stroke:var(--line);stroke-width:.6}
.dropped{fill:var(--panel);stroke:var(--line);stroke-width:.6}
.cross{stroke:var(--muted);stroke-width:1}
.best{fill:none;stroke:var(--c2);stroke-width:3}
button{font:inherit;font-size:.88rem;color:var(--ink);background:var(--panel);border:1px solid var(--line);
 border-radius:6px;padding:.3rem .8rem;cursor:pointer}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
footer{margin-top:2rem;border-top:1px solid var(--line);color:var(--muted);font-size:.88rem}
"""
PHONE = """
table.stack thead{display:none}
table.stack tr{display:block;padding:.4rem 0;border-bottom:1px solid var(--line)}
table{font-size:.85rem}
td.number,th.number,thead th,thead th.number{white-space:normal;min-width:0}
table.stack th,table.stack td,table.stack td.number{display:block;border:0;padding:.1rem 0;max-width:none;
 text-align:left;white-space:normal;overflow-wrap:anywhere}
table.stack td::before{content:attr(data-name) ": ";color:var(--muted)}
table.stack td code{white-space:normal}
table.stack{min-width:0;width:100%}
th,td,td:not(.number){min-width:0;padding-right:.5rem}
"""
PRINT = """
body{max-width:none;padding:0;font-size:10.5pt}
nav,button{display:none}
h2{break-after:avoid}
figure,tr,.figures div,.proof,.notes li{break-inside:avoid}
.scroll{overflow:visible}
pre{white-space:pre-wrap;overflow-wrap:anywhere;overflow:visible}
.charts{grid-template-columns:1fr 1fr}
table{font-size:8.5pt;min-width:0}
th,td,td:not(.number){min-width:0;padding-right:.5rem}
svg,.wide svg{min-width:0;max-width:100%;max-height:22cm}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
a{color:inherit;text-decoration:none}
"""
STYLE = (
    f":root{{color-scheme:light dark;{LIGHT}}}{RULES}"
    f"@media (prefers-color-scheme:dark){{:root{{{DARK}}}svg .over-middle{{fill:var(--page)}}}}"
    f"@media screen and (max-width:40rem){{{PHONE}}}"
    f"@media print{{:root{{color-scheme:light;{LIGHT}}}svg .over-middle{{fill:var(--ink)}}{PRINT}}}"
).replace("\n", "")

#: Shows the button that copies the code. Without scripts there is no button, and nothing else is missing.
SCRIPT = (
    "const b=document.getElementById('copy'),c=document.getElementById('code-text');"
    "if(b&&c){b.hidden=false;b.addEventListener('click',()=>{"
    "const done=()=>{b.textContent='Copied';setTimeout(()=>{b.textContent='Copy'},1500)};"
    "const mark=()=>{getSelection().selectAllChildren(c);if(document.execCommand('copy'))done()};"
    "navigator.clipboard?navigator.clipboard.writeText(c.textContent).then(done,mark):mark()})}"
)


def digest(text: str) -> str:
    """The name by which a content security policy allows exactly this text."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


#: Nothing is loaded from anywhere, and no script or style runs but these two.
POLICY = (
    f"default-src 'none'; style-src {digest(STYLE)}; script-src {digest(SCRIPT)}; base-uri 'none'; form-action 'none'"
)
