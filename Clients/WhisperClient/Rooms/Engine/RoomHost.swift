/// The host of `RoomVisits`.
package protocol RoomHost: ServerHost {
    var rooms: RoomVisits { get }
}
