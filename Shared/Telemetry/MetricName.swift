/// The name of every metric, once. The exposition adds a `service` label to each; no label ever names an identity.
package enum MetricName: String, CaseIterable, Sendable {
    // Names of contract §13.
    /// Gauge: open WebSockets.
    case wsConnectionsActive = "whisper_ws_connections_active"
    /// Gauge: stored messages that no recipient has acknowledged, in this router's partitions. Exact while no partition holds more
    /// than `RouterLimits.pendingCountedMax` of them, an estimate beyond.
    case pendingMessages = "whisper_pending_messages"
    /// Gauge: age of the oldest of them.
    case pendingOldestSeconds = "whisper_pending_oldest_seconds"
    /// Gauge: days after today for which the ledger has a table, as this router's last sweep left it.
    case ledgerDaysAhead = "whisper_ledger_days_ahead"
    /// Histogram: from the gateway's reading of a message to its commit.
    case routingLatencySeconds = "whisper_routing_latency_seconds"
    /// Counter by provider and result.
    case push = "whisper_push_total"
    /// Counter by result.
    case callSetup = "whisper_call_setup_total"
    /// Counter by error code, as answered to clients.
    case errors = "whisper_errors_total"

    // The gateway's sockets.
    /// Gauge: connections that belong to a guest.
    case guestsActive = "whisper_guests_active"
    case wsFramesIn = "whisper_ws_frames_in_total"
    case wsFramesOut = "whisper_ws_frames_out_total"
    case wsBytesIn = "whisper_ws_bytes_in_total"
    case wsBytesOut = "whisper_ws_bytes_out_total"
    /// Counter by close code.
    case wsClosed = "whisper_ws_closed_total"
    /// Clients closed because they did not read (4010).
    case slowConsumersClosed = "whisper_slow_consumers_closed_total"
    /// Gauge: frames whose answer has not come back from another service.
    case framesInFlight = "whisper_frames_in_flight"

    // Live conversations, as gateways see them.
    /// Gauge: streams whose holder is connected here.
    case liveStreamsActive = "whisper_live_streams_active"
    /// Gauge: connections here that have joined, once for each conversation.
    case liveListenersActive = "whisper_live_listeners_active"
    /// Counter by direction: packets of content.
    case livePackets = "whisper_live_packets_total"
    /// Histogram: from the reading of a packet to the last write to a listener here.
    case liveFanOutSeconds = "whisper_live_fanout_seconds"
    /// Counter by source: questions of listeners for what they miss.
    case liveResyncs = "whisper_live_resync_total"

    /// Gauges by store: what identities without any peer keep there, all of them together, and what they may. As last counted; while
    /// everybody together keeps less than half of that, what everybody keeps.
    case strangersBytes = "whisper_strangers_bytes"
    case strangersBytesMax = "whisper_strangers_bytes_max"

    // The router's mailboxes.
    case messagesAccepted = "whisper_messages_accepted_total"
    /// Messages accepted before, and acknowledged again.
    case messagesRepeated = "whisper_messages_repeated_total"
    case messagesExpired = "whisper_messages_expired_total"
    /// Counter by reason: messages refused because of what their recipient's mailbox holds, or because of the key they came with.
    case mailRefused = "whisper_mail_refused_total"
    /// Gauges: the fullest mailbox of this router's partitions, by messages and by bytes. As far as known: what it held when it was
    /// last counted and all that was stored since, so never less than it holds.
    case mailboxLargestMessages = "whisper_mailbox_largest_messages"
    case mailboxLargestBytes = "whisper_mailbox_largest_bytes"
    /// Messages sent again to a live connection that had not acknowledged them.
    case redeliveries = "whisper_redeliveries_total"
    /// Receipts that were not their sender's to give, or came late.
    case receiptsIgnored = "whisper_receipts_ignored_total"
    /// Updates sent to clients about their peers' coming and going.
    case presenceUpdates = "whisper_presence_updates_total"
    /// Histogram: Jobs taken in one transaction.
    case batchJobs = "whisper_batch_jobs"
    /// Histogram: one transaction, from BEGIN to the answer of COMMIT.
    case commitSeconds = "whisper_commit_seconds"
    /// Gauge: mailbox partitions this process has leased.
    case partitionsLeased = "whisper_partitions_leased"
    /// Counter by partition: Jobs read.
    case partitionJobs = "whisper_partition_jobs_total"
    /// Gauge by partition: Jobs waiting in its stream, which are those not known to be committed. Every router sees all.
    case partitionDepth = "whisper_partition_depth"
    /// Gauge: questions about groups waiting in their stream, whoever will answer them.
    case groupQuestionsWaiting = "whisper_group_questions_waiting"

    // Identities.
    /// Gauge: sessions that live, of the whole cluster.
    case sessionsLive = "whisper_sessions_live"
    /// Gauge: bytes of the cluster's database on its disk, as auth sees it. And what an operator has set as its room (DATABASE_BYTES_MAX).
    case databaseBytes = "whisper_database_bytes"
    case databaseBytesMax = "whisper_database_bytes_max"
    /// Counter by kind: frames and questions that gateways sent to auth.
    case authRequests = "whisper_auth_requests_total"
    /// Counter by result: proofs of keys that were genuine, and what became of them.
    case registrations = "whisper_registrations_total"
    /// Counter by origin: erasures that were decided.
    case erasures = "whisper_erasures_total"
    /// Gauges: erasures that a service has not finished, and the age of the oldest, of the whole cluster.
    case erasuresOpen = "whisper_erasures_open"
    case erasureOldestSeconds = "whisper_erasure_oldest_seconds"
    /// Counter: rows that this service has erased or emptied behind an erasure.
    case erasedRows = "whisper_erased_rows_total"
    /// Histogram: answering one of them.
    case authSeconds = "whisper_auth_request_seconds"
    /// Counter by result: requests for documents of profiles.
    case profileDocuments = "whisper_profiles_documents_total"

    // Public HTTP, of each service that has it.
    /// Counter by class of status.
    case httpRequests = "whisper_http_requests_total"
    /// Histogram: from the head of a request to the head of its answer; an upload counts while it comes in.
    case httpSeconds = "whisper_http_request_seconds"

    // Calls.
    /// Histogram: from a call's beginning to its callee's device.
    case callRingSeconds = "whisper_call_ring_seconds"
    /// Gauge: calls that ring or are answered, of the shares this process owns.
    case callsActive = "whisper_calls_active"
    /// Candidates that a side away had no more room for.
    case callCandidatesDropped = "whisper_call_ice_dropped_total"
    /// Gauge: shares of all calls that this process owns.
    case callSharesLeased = "whisper_call_shares_leased"
    /// Counter: knocks answered, by result.
    case liveKnocks = "whisper_live_knocks_total"
    /// Counter: lines stored in transcripts. A line that came again does not count.
    case liveLinesStored = "whisper_live_lines_stored_total"
    /// Gauge: rooms in which somebody is connected, of the shares this process owns.
    case roomsActive = "whisper_rooms_active"
    /// Gauge: participants of these rooms who are connected.
    case roomParticipantsActive = "whisper_room_participants_active"
    /// Counter: joins answered, by result.
    case roomJoins = "whisper_room_joins_total"
    /// Counter: signals taken, by kind.
    case roomSignals = "whisper_room_signals_total"
    /// Counter: joins with a wrong code or pin.
    case roomCodeMisses = "whisper_room_code_misses_total"

    // The bus and the store, as each process sees them.
    /// Gauge: entries waiting in the streams that a service reads, as each of its processes sees them.
    case busDepth = "whisper_bus_depth"
    /// Gauge: commands without an answer yet.
    case busCommandsInFlight = "whisper_bus_commands_in_flight"
    case busCommands = "whisper_bus_commands_total"
    case busReconnects = "whisper_bus_reconnects_total"
    /// Gauge: Jobs taken and not acknowledged yet.
    case jobsInFlight = "whisper_jobs_in_flight"
    /// Gauge: database connections in use.
    case storeConnectionsBusy = "whisper_store_connections_busy"
    /// Histogram: waiting for a free database connection.
    case storeWaitSeconds = "whisper_store_wait_seconds"
    case storeReconnects = "whisper_store_reconnects_total"

    /// Gauge, always 1: which release the process is of, by label.
    case buildInfo = "whisper_build_info"

    // Wake-ups.
    /// Jobs that were answered by the wake-up of another Job.
    case wakesCoalesced = "whisper_wakes_coalesced_total"
    /// Histogram: from the queueing of a Job to the provider's word that it has the wake-up.
    case pushLatencySeconds = "whisper_push_latency_seconds"
    /// Tries after a first one that failed.
    case pushRetries = "whisper_push_retries_total"
    /// Wake-ups given up; operators can list them.
    case pushDeadLetters = "whisper_push_dead_letters_total"
    /// Wake-ups sent because mail still waited and an earlier one had woken nobody.
    case pushReminders = "whisper_push_reminders_total"
    /// Pushed wake-ups whose device came back.
    case pushWoke = "whisper_push_woke_total"
    /// Histogram: from the push to the device's coming back.
    case pushWokeSeconds = "whisper_push_woke_seconds"
    /// Gauge: Jobs of calls waiting in the stream; `whisper_bus_depth` is that of mail.
    case callWakesWaiting = "whisper_push_call_wakes_waiting"

    // Attachments.
    /// Counter by kind: URLs given out.
    case attachmentPresigns = "whisper_attachment_presigns_total"
    /// Bytes that uploads were presigned for.
    case attachmentBytesPresigned = "whisper_attachment_bytes_presigned_total"
    /// Uploads refused because their identity's quota is used up.
    case attachmentQuotaRefusals = "whisper_attachment_quota_refusals_total"
    case attachmentsExamined = "whisper_attachment_gc_examined_total"
    case attachmentsDeleted = "whisper_attachment_gc_deleted_total"
    case attachmentBytesFreed = "whisper_attachment_gc_freed_bytes_total"
    /// Questions of the collector to database or store that failed. The collector tries failed removals again.
    case collectorFailures = "whisper_attachment_gc_failures_total"
    /// Gauge: when the collector's last run ended that no failure of the database ended early, in seconds since 1970; the start
    /// of the process until then.
    case collectorSucceededAt = "whisper_attachment_gc_last_success_timestamp_seconds"
    /// Gauges: uploaded files, and their bytes, of the whole cluster; as of the collector's last run.
    case attachmentsStored = "whisper_attachments_stored"
    case attachmentBytesStored = "whisper_attachment_stored_bytes"
    /// Calls of the object store that failed.
    case objectStoreErrors = "whisper_object_store_errors_total"
    /// Histogram: one call of the object store.
    case objectStoreSeconds = "whisper_object_store_seconds"
    /// For the store on disk: bytes that came and went, and transfers under way (a gauge).
    case blobBytesReceived = "whisper_blob_bytes_received_total"
    case blobBytesSent = "whisper_blob_bytes_sent_total"
    case blobTransfers = "whisper_blob_transfers"
}

/// The name of every label but `service`, once.
package enum MetricLabel: String, Sendable {
    case code, provider, result, kind, partition, status, reason, direction, source, store, version, by
}
