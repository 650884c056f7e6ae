package import Contract
package import Hummingbird

/// A request that knows where its connection comes from.
package protocol PeerContext: RequestContext {
    /// Nil for a connection without an address, such as a test's.
    var peer: NetworkAddress? { get }
}

/// The request context of public routes, if they need no more.
package struct ClientContext: PeerContext {
    package var coreContext: CoreRequestContextStorage
    package let peer: NetworkAddress?

    package init(source: ApplicationRequestContextSource) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.peer = NetworkAddress(of: source)
    }
}

extension NetworkAddress {
    /// The address at the other end of a request's connection.
    package init?(of source: ApplicationRequestContextSource) {
        guard let text = source.channel.remoteAddress?.ipAddress else { return nil }
        self.init(text)
    }
}
