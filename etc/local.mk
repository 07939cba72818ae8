# etc - examples for the site, installed under share/doc/egs
