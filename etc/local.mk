# etc - examples for the site, installed under share/doc/egs

dist_doc_DATA += etc/egs.conf.example etc/egs-noded.service \
	etc/egs-policyd.service etc/egs-webd.service \
	etc/plugstack.conf.example etc/slurm.conf.snippet
