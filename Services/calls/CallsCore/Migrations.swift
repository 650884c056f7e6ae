package import Store

/// The tables of calls. Needs auth's to exist.
package let callsMigrator = Migrator(
    schema: "calls",
    migrations: [
        Migration(version: 1, name: "calls", sql: PackageResources._01_calls_sql),
        Migration(version: 2, name: "rings", sql: PackageResources._02_rings_sql),
        Migration(version: 3, name: "relay keys", sql: PackageResources._03_relay_keys_sql),
        Migration(version: 4, name: "live", sql: PackageResources._04_live_sql),
        Migration(version: 5, name: "transcripts", sql: PackageResources._05_transcripts_sql),
        Migration(version: 6, name: "rooms", sql: PackageResources._06_rooms_sql),
        Migration(version: 7, name: "kept bytes", sql: PackageResources._07_kept_bytes_sql),
        Migration(version: 8, name: "live bounds", sql: PackageResources._08_live_bounds_sql),
        Migration(version: 9, name: "statistics", sql: PackageResources._09_statistics_sql),
        Migration(version: 10, name: "erasures", sql: PackageResources._10_erasures_sql),
        Migration(version: 11, name: "held about", sql: PackageResources._11_held_about_sql),
        Migration(version: 12, name: "held about guest", sql: PackageResources._12_held_about_guest_sql),
    ])
