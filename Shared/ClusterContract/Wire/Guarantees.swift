/// Work that is kept until a consumer acknowledges it. Handling it twice must do no harm.
/// Jobs travel on streams and nowhere else.
package protocol Job: WireCodable {}

/// News for whoever listens now. Losing it must be harmless.
/// Notices travel by publish/subscribe and nowhere else.
package protocol Notice: WireCodable {}

/// The name of a stream that carries one kind of Job.
package struct StreamName<Kind: Job>: Hashable, Sendable {
    package let name: String
    package init(_ name: String) { self.name = name }
}

/// The name of a channel that carries one kind of Notice.
package struct ChannelName<Kind: Notice>: Hashable, Sendable {
    package let name: String
    package init(_ name: String) { self.name = name }
}

/// The name of a key with a time to live. Everything under such a key can be rebuilt.
package struct KeyName: Hashable, Sendable {
    package let name: String
    package init(_ name: String) { self.name = name }
}
