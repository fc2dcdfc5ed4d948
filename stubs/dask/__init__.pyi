from dask import config as config
