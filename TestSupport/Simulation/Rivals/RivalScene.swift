/// People whose token is shown by two connections, at once or one after the other: a world without other clients.
final class RivalScene {
    private var devices: [RivalDevice]

    init(in world: World) {
        let (identities, guests) = (Identities.all.prefix(2), Identities.all.dropFirst(2).prefix(2))
        for person in identities {
            world.postgres.tables.auth.identities[person.identity] = .init(
                signKey: person.signPublicKey, encKey: person.encPublicKey, epoch: 0)
        }
        self.devices =
            identities.map { RivalDevice($0, isGuest: false, in: world) }
            + guests.map { RivalDevice($0, isGuest: true, in: world) }
    }

    /// Rounds that were judged.
    var rounds: Int { self.devices.reduce(0) { $0 + $1.rounds } }

    /// Called every fifth of a second.
    func tick() { for device in self.devices { device.tick() } }

    func calmDown() { for device in self.devices { device.calmDown() } }

    var isQuiet: Bool { self.devices.allSatisfy(\.isDone) }

    func judge() { for device in self.devices { device.judge() } }

    /// Releases all devices.
    func end() { self.devices = [] }
}
