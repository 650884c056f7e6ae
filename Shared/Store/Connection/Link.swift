import Glibc

/// The state of a connection that can be known without waiting for its thread.
struct Link {
    /// The socket; negative when there is none.
    private var descriptor: Int32 = -1
    private var isBusy = false

    mutating func connected(_ descriptor: Int32) { self = Link(descriptor: descriptor) }
    mutating func lost() { self = Link() }
    mutating func began() { self.isBusy = true }
    mutating func ended() { self.isBusy = false }

    /// Whether no statement can be sent any more. A server that is asked nothing says nothing, except farewell:
    /// whatever can be read from an idle connection is its end.
    var isLost: Bool {
        guard self.descriptor >= 0 else { return true }
        guard !self.isBusy else { return false }
        var descriptor = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) != 0
    }
}
