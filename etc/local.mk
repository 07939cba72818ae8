# etc - examples for the site, installed under share/doc/egs

dist_doc_DATA += etc/plugstack.conf.example etc/slurm.conf.snippet
