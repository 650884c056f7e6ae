package import ClusterContract
import Contract
package import Store

/// Deletes lines, transcripts and shares that have expired.
package enum TranscriptSweep {
    /// In parts, so that no statement takes long, until nothing has expired or the time is over. Lines expire as fast as a busy process
    /// stores them: `LimitTests` compares the rates.
    /// - Returns: whether more is left.
    nonisolated(nonsending) package static func run(
        in shares: [LiveShare], on store: PostgresConnection, for time: Duration, at now: StoreTime = .now
    ) async throws(StoreError) -> Bool {
        let end = ContinuousClock.now + time
        while true {
            var pipeline = Pipeline()
            let lines = pipeline.add(
                TranscriptTable.sweepLines(in: shares, limit: ConversationLimits.linesSweptAtOnce, at: now))
            let transcripts = pipeline.add(
                TranscriptTable.sweep(in: shares, limit: ConversationLimits.transcriptsSweptAtOnce, at: now))
            pipeline.add(TranscriptShareTable.sweep(at: now))
            let gone = try await store.pipeline(pipeline)
            let (lineCount, transcriptCount) = (try gone[lines], try gone[transcripts])
            let isDone =
                lineCount < ConversationLimits.linesSweptAtOnce
                && transcriptCount < ConversationLimits.transcriptsSweptAtOnce
            if isDone || ContinuousClock.now >= end { return !isDone }
        }
    }
}
