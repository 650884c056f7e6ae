/// Bounds of content of live conversations in one gateway (contract §14.9, §14.10).
package enum LiveFeedLimits {
    /// Packets that are remembered behind the newest snapshot of a stream.
    package static let packetsBehindMax = 64
    /// Cues that are remembered before it.
    package static let cuesMax = 16
    /// Bytes that are remembered of one stream, and of all streams of a gateway.
    package static let streamBytesMax = 256 << 10
    package static let memoryBytesMax = 64 << 20
    /// A listener that reconnects gets cues younger than this.
    package static let cueLife = Duration.seconds(5)
    /// Content behind which a ping goes, in bytes.
    package static let pingEveryBytes = 16 << 10
    /// Content that no pong has covered. Above it a listener gets nothing more; below the other one it goes on. In bytes.
    package static let unreadBytesMax = 64 << 10
    package static let unreadBytesLow = 16 << 10
    /// How long a ping behind content may be without a pong.
    package static let pongMax = Duration.seconds(60)
    /// A second `live_resync` within this is dropped. A little less than the contract's second: networks are uneven.
    package static let resyncPause = Duration.milliseconds(950)
    /// How often a gateway tells homes what it attends, and calls what it holds and attends. In seconds.
    package static let reportSeconds = 5
    /// After so long a node that says nothing attends no more.
    package static let attendanceMax = Duration.seconds(15)
    /// A home that does not answer is asked again after this.
    package static let askAgainAfter = Duration.seconds(1)
    /// How long `live_joined` waits for the home's memory.
    package static let joinWaitMax = Duration.seconds(1)
    /// How long a stream is remembered that nobody here holds or attends. Its holder may come back.
    package static let unattendedMax = Duration.seconds(60)
    /// Listeners of one stream whose missing lines are paced at a time. More are not asked for.
    package static let linesWantedMax = 1_024
    /// Conversations that other nodes attend here.
    package static let attendedMax = 262_144
    /// A Notice to another gateway is sent as soon as it reaches this size in bytes.
    package static let noticeBytesMax = 1_000_000
}
