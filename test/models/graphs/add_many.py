"""Runs models/add.py once per list of arguments on stdin (JSON), in one process to save start time. Prints their
output."""
import contextlib
import io
import json
import pathlib
import runpy
import sys

MODELS = pathlib.Path(__file__).parents[3] / "models"
sys.path.insert(0, str(MODELS))
answers = []
for arguments in json.load(sys.stdin):
    sys.argv = ["add.py", *arguments]
    code, written = 0, io.StringIO()
    with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
        try:
            runpy.run_path(str(MODELS / "add.py"), run_name="__main__")
        except SystemExit as ending:
            code = ending.code
    # Like the interpreter: a text is an error message and is printed.
    said = written.getvalue() + (code if isinstance(code, str) else "")
    answers.append({"failed": code not in (0, None), "said": said})
print(json.dumps(answers))
