package import Store

/// The tables of calls. Needs auth's to exist.
package let callsMigrator = Migrator(
    schema: "calls", migrations: [Migration(version: 1, name: "calls", sql: PackageResources._01_calls_sql)])
