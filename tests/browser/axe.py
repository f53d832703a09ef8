"""axe-core, which looks a page through for what keeps people with disabilities from using it."""

import json
import shutil
import subprocess
import tarfile

AXE = "axe-core@4.14.1"
LOOKS = 10  # of about a second each, while the page gives names: whatever has none by then has none
# Colours are the scheme's and places the width's: whatever is wrong with one of them is wrong on
# one of the two.
DESK, PHONE = (1440, "light"), (390, "dark")
# Without `preload` it does not load every style sheet of every shadow root once more, of which no
# rule that is on has a use.
SERIOUS = """async (part) => (await axe.run(part ?? document, {resultTypes: ["violations"], preload: false})).violations
  .filter(v => ["serious", "critical"].includes(v.impact))
  .map(v => ({id: v.id, nodes: v.nodes.map(n => n.target.flat().join(" ") + ": " + n.html.slice(0, 160))}))"""


def packed(folder):
    """Its source, from the npm registry or from what npm keeps of it; and why there is none."""
    npm = shutil.which("npm")
    command = [
        npm or "npm",
        "pack",
        AXE,
        "--silent",
        "--prefer-offline",
        "--pack-destination",
        str(folder),
    ]
    done = npm and subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if not done or done.returncode:
        return (
            "",
            f"NO AXE: `npm pack {AXE}` failed: {done.stderr[-500:] if done else 'npm is not installed'}",
        )
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        return archive.extractfile("package/axe.min.js").read().decode(), ""


def look(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)


def serious(page, axe, part=None):
    """What axe finds on the page, or of what can be seen of one of its parts, once what has just
    been drawn has its names.

    The page gives them a few times a second, and axe takes longer than that to look.
    """
    if not page.evaluate("'axe' in window"):  # half a megabyte to read
        page.evaluate(axe)
    for _ in range(LOOKS):
        page.wait_for_timeout(500)
        found = page.evaluate(SERIOUS, part and page.locator(part).element_handle())
        if not found:
            break
    return json.dumps(found, indent=1, ensure_ascii=False)
