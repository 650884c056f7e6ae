/// The bounds of the push service.
package enum PushLimits {
    /// Least time between two pushes to one identity.
    package static let window = Duration.seconds(5)
    /// Identities with an open window; further ones are woken for each message.
    package static let windowsMax = 50_000
    /// Jobs that wait for the end of a window; at the bound no more are taken from the bus.
    package static let jobsHeldMax = 50_000
    /// Jobs taken from the bus in one go.
    package static let takeMax = 256
    /// Longest wait at the bus; also how late a drain is noticed.
    package static let patience = Duration.seconds(1)
    /// Pushes under way at the provider.
    package static let sendsInFlightMax = 32
    /// A Job that its consumer has not acknowledged for this long is another's: longer than a window and a slow
    /// provider.
    package static let claimIdle = Duration.seconds(30)
    /// Time between two looks for such Jobs.
    package static let claimEvery = Duration.seconds(10)
    /// Wait after the bus has failed.
    package static let retryDelay = Duration.seconds(1)
}
