"""The store: schema, migrations, the one writer, the readers, the projection."""
