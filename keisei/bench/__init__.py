"""How fast is the engine? Ours and every installed rival, side by side in one run.

``engine.run`` measures, ``rivals`` and its neighbours hold one small class per rival, ``table`` says what
came out. Rivals are imported only in the child process that measures them.
"""
