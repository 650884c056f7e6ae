package import Store

/// The router's tables. Needs auth's to exist.
package let routerMigrator = Migrator(
    schema: "router",
    migrations: [
        Migration(version: 1, name: "mailboxes", sql: PackageResources._01_mailboxes_sql),
        Migration(version: 2, name: "groups", sql: PackageResources._02_groups_sql),
        Migration(version: 3, name: "standing", sql: PackageResources._03_standing_sql),
        Migration(version: 4, name: "peers", sql: PackageResources._04_peers_sql),
        Migration(version: 5, name: "status times", sql: PackageResources._05_status_times_sql),
        Migration(version: 6, name: "waiting", sql: PackageResources._06_waiting_sql),
        // Numbers that are missing were never used.
        Migration(version: 8, name: "acknowledgements", sql: PackageResources._08_acknowledgements_sql),
        Migration(version: 9, name: "segments", sql: PackageResources._09_segments_sql),
        Migration(version: 10, name: "delivery times", sql: PackageResources._10_delivery_times_sql),
        Migration(version: 11, name: "expiry", sql: PackageResources._11_expiry_sql),
        Migration(version: 12, name: "statistics", sql: PackageResources._12_statistics_sql),
        Migration(version: 13, name: "peers since", sql: PackageResources._13_peers_since_sql),
        Migration(version: 15, name: "group bounds", sql: PackageResources._15_group_bounds_sql),
        Migration(version: 18, name: "has peer", sql: PackageResources._18_has_peer_sql),
        Migration(version: 19, name: "full mailboxes", sql: PackageResources._19_full_mailboxes_sql),
        Migration(version: 24, name: "ledger day", sql: PackageResources._24_ledger_day_sql),
        Migration(version: 25, name: "ledger of no day", sql: PackageResources._25_ledger_of_no_day_sql),
        Migration(version: 26, name: "ledger days", sql: PackageResources._26_ledger_days_sql),
        Migration(version: 27, name: "partitions", sql: PackageResources._27_partitions_sql),
        Migration(version: 28, name: "day", sql: PackageResources._28_day_sql),
        Migration(version: 30, name: "stranger bytes", sql: PackageResources._30_stranger_bytes_sql),
        Migration(version: 31, name: "erasures", sql: PackageResources._31_erasures_sql),
        Migration(version: 32, name: "counts of", sql: PackageResources._32_counts_of_sql),
        Migration(version: 33, name: "held about", sql: PackageResources._33_held_about_sql),
    ])
