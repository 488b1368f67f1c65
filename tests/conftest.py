"""Set what holds for every test.

Examples of laws have no time limit: a busy machine makes an example slow, never wrong.
"""

from hypothesis import settings

settings.register_profile("evenkeel", deadline=None)
settings.load_profile("evenkeel")
