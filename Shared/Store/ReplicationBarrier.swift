/// A commit that synchronous standbys confirm, for answers that rest on other sessions' commits.
///
/// A commit that waits for its standby when the primary crashes is there after the restart, and no standby has it
/// (PostgreSQL manual, 27.2.8). Readers do not wait for it. Before a service tells a client that such a row is durable,
/// it has to commit something behind it: standbys confirm in the order of the log.
package enum ReplicationBarrier {
    /// Writes 50 bytes of log, and its commit waits for the standbys. Without `synchronous_standby_names` it writes nothing
    /// and waits for nobody: then every row that can be seen is as durable as it will be.
    package static let statement: SQL = """
        SELECT CASE WHEN current_setting('synchronous_standby_names') <> ''
            THEN pg_logical_emit_message(true, 'whisper', '') END
        """
}
