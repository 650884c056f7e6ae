package import Store

/// The router's tables. Needs auth's to exist.
package let routerMigrator = Migrator(
    schema: "router",
    migrations: [Migration(version: 1, name: "mailboxes", sql: PackageResources._01_mailboxes_sql)])
