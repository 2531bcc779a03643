@echo off
rem SPDX-License-Identifier: MIT
rem sconsw for Windows (not tried there): finds a Python and hands over to tools\bootstrap.py, which says more.
setlocal
set "root=%~dp0"
if exist "%root%.venv\Scripts\python.exe" if exist "%root%.venv\aidge-setup" (
    "%root%.venv\Scripts\python.exe" -E -s "%root%tools\bootstrap.py" %*
    exit /b
)
where py >nul 2>nul && (
    py -3 -E -s "%root%tools\bootstrap.py" %*
    exit /b
)
python -E -s "%root%tools\bootstrap.py" %*
