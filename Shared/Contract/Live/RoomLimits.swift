/// The limits of rooms (contract §15). Each stands here once.
package enum RoomLimits {
    /// Participants of a room: a full mesh.
    package static let participants = Int64(2)...8
    package static let participantsDefault = Int64(2)
    /// Rooms that somebody hosts at present.
    package static let hostedByIdentityMax = 20
    package static let hostedByGuestMax = 3

    /// Rooms in which somebody has a seat. More are refused.
    package static let roomsListedMax = 64

    /// Digits of a code. 0: the room has none.
    package static let codeDigits: [Int64] = [0, 6, 8, 10]
    package static let codeDigitsDefault = Int64(6)
    package static let codeCharacters = 6...10
    /// Removed participants that one room remembers. Beyond it the oldest is forgotten (contract §13b).
    package static let barredMax = 1_000
    /// How long a code opens its room, in seconds.
    package static let codeTTL = Int64(1)...86_400
    package static let codeTTLDefault = Int64(600)
    package static let pinCharacters = 4...12
    /// Wrong pins after which a code is retired.
    package static let wrongPinsMax = 3
    /// If more than one code in so many of a length opens a room or rests, the next codes are longer (contract §13b).
    package static let codeRarity = 100
    /// Every length is used up: come again after this. It takes 10^10 codes in a day.
    package static let codesExhaustedFor = Duration.seconds(3_600)
    /// A retired code is given out again after this at the earliest, and whoever joined with it comes back by it until then.
    package static let codeRest = Duration.seconds(24 * 3_600)

    /// Misses of all together within `missWindow` that stop guests' joins by codes of 6 digits, if they come from at least so
    /// many addresses (contract §15.3, §19.25a).
    package static let missesMax = 100
    package static let missAddressesMin = 20
    package static let missWindow = Duration.seconds(60)

    /// The BOX of a signal, in bytes.
    package static let signalCiphertext = LiveLimits.boxOverheadBytes + 1...65_536
    /// Signals for somebody who is not connected: the newest offer and answer and so many candidates of each pair.
    package static let candidatesKeptMax = 64
    package static let signalsKeptFor = Duration.seconds(30)

    /// A participant without a connection is away after this.
    package static let absenceMax = Duration.seconds(15)
    /// Another participant becomes host after the host was away for this.
    package static let hostAbsenceMax = Duration.seconds(300)
    /// A room ends this long after the last connection: with guests alone, and otherwise.
    package static let guestsRoomTTL = Duration.seconds(24 * 3_600)
    package static let roomTTL = Duration.seconds(30 * 86_400)
    /// Credentials for relays are good for this long in the hands of a guest.
    package static let guestTurnTTL = Duration.seconds(2 * 3_600)
    /// Somebody who is away is woken no more often than this, for each room.
    package static let pokePause = Duration.seconds(60)

    /// The secret in a room's link, in bytes.
    package static let linkSecretBytes = 16
    package static let seats = Int64(1)...2_147_483_647
}
