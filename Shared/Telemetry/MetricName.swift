/// The name of every metric, once. `help` says what each tells. The exposition adds a `service` label; no label ever
/// names an identity.
package enum MetricName: String, CaseIterable, Sendable {
    // Names of contract §13.
    case wsConnectionsActive = "whisper_ws_connections_active"
    case pendingMessages = "whisper_pending_messages"
    case pendingOldestSeconds = "whisper_pending_oldest_seconds"
    case ledgerDaysAhead = "whisper_ledger_days_ahead"
    case routingLatencySeconds = "whisper_routing_latency_seconds"
    case push = "whisper_push_total"
    case callSetup = "whisper_call_setup_total"
    case errors = "whisper_errors_total"

    // The gateway's sockets.
    case guestsActive = "whisper_guests_active"
    case wsFramesIn = "whisper_ws_frames_in_total"
    case wsFramesOut = "whisper_ws_frames_out_total"
    case wsBytesIn = "whisper_ws_bytes_in_total"
    case wsBytesOut = "whisper_ws_bytes_out_total"
    case wsClosed = "whisper_ws_closed_total"
    case slowConsumersClosed = "whisper_slow_consumers_closed_total"
    case framesInFlight = "whisper_frames_in_flight"

    // Live conversations, as gateways see them.
    case liveStreamsActive = "whisper_live_streams_active"
    case liveListenersActive = "whisper_live_listeners_active"
    case livePackets = "whisper_live_packets_total"
    case liveFanOutSeconds = "whisper_live_fanout_seconds"
    case liveResyncs = "whisper_live_resync_total"

    case strangersBytes = "whisper_strangers_bytes"
    case strangersBytesMax = "whisper_strangers_bytes_max"

    // The router's mailboxes.
    case messagesAccepted = "whisper_messages_accepted_total"
    case messagesRepeated = "whisper_messages_repeated_total"
    case messagesExpired = "whisper_messages_expired_total"
    case mailRefused = "whisper_mail_refused_total"
    case mailboxLargestMessages = "whisper_mailbox_largest_messages"
    case mailboxLargestBytes = "whisper_mailbox_largest_bytes"
    case redeliveries = "whisper_redeliveries_total"
    case receiptsIgnored = "whisper_receipts_ignored_total"
    case presenceUpdates = "whisper_presence_updates_total"
    case batchJobs = "whisper_batch_jobs"
    case commitSeconds = "whisper_commit_seconds"
    case partitionsLeased = "whisper_partitions_leased"
    case partitionJobs = "whisper_partition_jobs_total"
    case partitionDepth = "whisper_partition_depth"
    case groupQuestionsWaiting = "whisper_group_questions_waiting"

    // Identities.
    case sessionsLive = "whisper_sessions_live"
    case rateClassMembers = "whisper_rate_class_members"
    case databaseBytes = "whisper_database_bytes"
    case databaseBytesMax = "whisper_database_bytes_max"
    case certificateEnd = "whisper_certificate_end_timestamp_seconds"
    case authRequests = "whisper_auth_requests_total"
    case registrations = "whisper_registrations_total"
    case registrationOpen = "whisper_registration_open"
    case erasures = "whisper_erasures_total"
    case erasuresOpen = "whisper_erasures_open"
    case erasureOldestSeconds = "whisper_erasure_oldest_seconds"
    case identitiesInactive = "whisper_identities_inactive"
    case erasedRows = "whisper_erased_rows_total"
    case exports = "whisper_exports_total"
    case authSeconds = "whisper_auth_request_seconds"
    case profileDocuments = "whisper_profiles_documents_total"

    // Public HTTP, of each service that has it.
    case httpRequests = "whisper_http_requests_total"
    case httpSeconds = "whisper_http_request_seconds"

    // Calls.
    case callRingSeconds = "whisper_call_ring_seconds"
    case callsActive = "whisper_calls_active"
    case callCandidatesDropped = "whisper_call_ice_dropped_total"
    case callSharesLeased = "whisper_call_shares_leased"
    case liveKnocks = "whisper_live_knocks_total"
    case liveLinesStored = "whisper_live_lines_stored_total"
    case roomsActive = "whisper_rooms_active"
    case roomParticipantsActive = "whisper_room_participants_active"
    case roomJoins = "whisper_room_joins_total"
    case roomSignals = "whisper_room_signals_total"
    case roomCodeMisses = "whisper_room_code_misses_total"

    // The bus and the store, as each process sees them.
    case busDepth = "whisper_bus_depth"
    case busCommandsInFlight = "whisper_bus_commands_in_flight"
    case busCommands = "whisper_bus_commands_total"
    case busReconnects = "whisper_bus_reconnects_total"
    case jobsInFlight = "whisper_jobs_in_flight"
    case storeConnectionsBusy = "whisper_store_connections_busy"
    case storeWaitSeconds = "whisper_store_wait_seconds"
    case storeReconnects = "whisper_store_reconnects_total"

    case buildInfo = "whisper_build_info"

    // Wake-ups.
    case wakesCoalesced = "whisper_wakes_coalesced_total"
    case pushLatencySeconds = "whisper_push_latency_seconds"
    case pushRetries = "whisper_push_retries_total"
    case pushDeadLetters = "whisper_push_dead_letters_total"
    case pushReminders = "whisper_push_reminders_total"
    case pushWoke = "whisper_push_woke_total"
    case pushWokeSeconds = "whisper_push_woke_seconds"
    case callWakesWaiting = "whisper_push_call_wakes_waiting"

    // Attachments.
    case attachmentPresigns = "whisper_attachment_presigns_total"
    case attachmentBytesPresigned = "whisper_attachment_bytes_presigned_total"
    case attachmentQuotaRefusals = "whisper_attachment_quota_refusals_total"
    case attachmentsExamined = "whisper_attachment_gc_examined_total"
    case attachmentsDeleted = "whisper_attachment_gc_deleted_total"
    case attachmentBytesFreed = "whisper_attachment_gc_freed_bytes_total"
    case collectorFailures = "whisper_attachment_gc_failures_total"
    case collectorSucceededAt = "whisper_attachment_gc_last_success_timestamp_seconds"
    case attachmentsStored = "whisper_attachments_stored"
    case attachmentBytesStored = "whisper_attachment_stored_bytes"
    case objectStoreErrors = "whisper_object_store_errors_total"
    case objectStoreSeconds = "whisper_object_store_seconds"
    case blobBytesReceived = "whisper_blob_bytes_received_total"
    case blobBytesSent = "whisper_blob_bytes_sent_total"
    case blobTransfers = "whisper_blob_transfers"
}

/// The name of every label but `service`, once.
package enum MetricLabel: String, Sendable {
    case code, provider, result, kind, partition, status, reason, direction, source, store, version, revision, by
    case client, `class`
}
