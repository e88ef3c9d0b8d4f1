"""Making recordings: scripts and plans, sensors, the recorder, synchronisation, releases. docs/capture.md.

Source: CaptainCook4D, appendix C; where its system loses data or time, docs/capture.md says what is done instead.
"""
