"""One made-up cluster on which all three programs work, on the embedded API server or on a real one."""
