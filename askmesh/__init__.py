"""The command `askmesh`: a launcher; the program itself is `node`, `web` and `sync`."""
