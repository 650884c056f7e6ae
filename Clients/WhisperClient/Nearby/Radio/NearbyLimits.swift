/// Bounds of the nearby link.
package enum NearbyLimits {
    /// One value between two Whisper phones, in bytes.
    package static let valueBytesMax = 65_536
    /// Our advertised title, in bytes of UTF-8: BlueChat's bound.
    package static let titleBytesMax = 16
    /// Values that wait for one peer.
    package static let sendsWaitingMax = 64
    /// A phone that was not heard for this long is gone.
    package static let forgottenAfter = Duration.seconds(30)
}
