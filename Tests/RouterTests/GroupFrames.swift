import ClusterContract
import Contract
import RouterCore

/// Somebody, the same for the same number.
func person(_ number: Int) -> WhisperID { WhisperID(bits: UInt64(number) << 40 | 7)! }

/// Its partition alone.
func partitionRun(of person: WhisperID) -> PartitionRun { PartitionRun(Partition(of: person)...Partition(of: person)) }

private let versions = #""protocolVersion":1,"cryptoVersion":1"#

private func list(_ ids: [WhisperID]) -> String { "[" + ids.map { "\"\($0)\"" }.joined(separator: ",") + "]" }

func createJSON(_ title: String, _ members: [WhisperID]) -> String {
    #"{\#(versions),"title":"\#(title)","memberIds":\#(list(members))}"#
}

func updateJSON(
    _ group: UUIDText, title: String? = nil, add: [WhisperID] = [], remove: [WhisperID] = [],
    roles: [(WhisperID, GroupRole)] = []
) -> String {
    let title = title.map { #""title":"\#($0)","# } ?? ""
    let roles = roles.map { #"{"whisperId":"\#($0.0)","role":"\#($0.1.rawValue)"}"# }.joined(separator: ",")
    return
        #"{\#(versions),"groupId":"grp-\#(group)",\#(title)"addMembers":\#(list(add)),"removeMembers":\#(list(remove)),"roleChanges":[\#(roles)]}"#
}

func createFrame(_ title: String, _ members: [WhisperID]) -> GroupCreate {
    try! GroupCreate(
        FrameDecoder.payload(bare: Array(createJSON(title, members).utf8), schema: GroupCreate.definition.schema))
}

func updateFrame(
    title: String? = nil, add: [WhisperID] = [], remove: [WhisperID] = [], roles: [(WhisperID, GroupRole)] = []
) -> GroupUpdate {
    let json = updateJSON(.random(), title: title, add: add, remove: remove, roles: roles)
    return try! GroupUpdate(FrameDecoder.payload(bare: Array(json.utf8), schema: GroupUpdate.definition.schema))
}
