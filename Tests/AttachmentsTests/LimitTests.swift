import AttachmentsCore
import Contract
import Foundation
import ServiceRuntime
import Testing

/// Relations between the bounds of attachments, the limits of the contract, and the balancer in front.
@Suite struct LimitTests {
    @Test func theLargestFileHasTimeToBeMoved() {
        #expect(AttachmentsLimits.transferSecondsMax * 4_700 >= Double(Limits.fileBytesMax))
        #expect(AttachmentsLimits.stallSecondsMax < AttachmentsLimits.paceGraceSeconds)
        #expect(AttachmentsLimits.bytesPerSecondMin < AttachmentsLimits.crowdedBytesPerSecondMin)
        #expect(Double(AttachmentsLimits.unfinishedAge.components.seconds) > AttachmentsLimits.transferSecondsMax)
    }

    @Test func theLargestFileFitsAboveTheFloor() {
        #expect(2 * Limits.fileBytesMax < Limits.storeFloorBytes)
        #expect(Limits.attachmentQuotaBytes < Limits.strangersStoreBytesMax)
        #expect(AttachmentsLimits.spaceAge < Limits.uploadURLLife)
    }

    @Test func placesAreShared() {
        #expect((1..<4).contains(AttachmentsLimits.quartersOfOneDirection))
        #expect(AttachmentsLimits.quartersOfOneFile < AttachmentsLimits.quartersOfOneDirection)
        let limits = TransferLimits()
        #expect(limits.uploadsOfOneIdentityMax < limits.oneDirectionMax)
        #expect(limits.downloadsOfOneIdentityMax < limits.downloadsOfOneFileMax)
        #expect(Limits.uploadPartsMax <= limits.uploadsOfOneIdentityMax)
    }

    @Test func anUploadIsCollectedOnlyWhenNobodyWantsIt() {
        let retention = Retention()
        #expect(Limits.uploadURLLife + AttachmentsLimits.checkDelay < retention.unlinkedLife)
        #expect(retention.downloadURLLife < retention.acknowledgedLife)
        #expect(retention.unlinkedLife < retention.acknowledgedLife)
        #expect(retention.acknowledgedLife < retention.life)
        #expect(Limits.pendingTTL < retention.life)
        #expect(AttachmentsLimits.checkDelay < AttachmentsLimits.checkAgainAfter)
        #expect(AttachmentsLimits.removalsPerRound <= AttachmentsLimits.pageRows)
        #expect(AttachmentsLimits.storeCallsMax <= AttachmentsLimits.removalsPerRound)
        #expect(AttachmentsLimits.s3IdleConnectionsMax >= AttachmentsLimits.storeCallsMax)
    }

    /// The balancer gives up first on nothing: neither on an operator's run, nor on a connection that it keeps.
    @Test func theBalancerWaitsForTheService() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "deploy/haproxy/haproxy.cfg"), encoding: .utf8)
        func seconds(_ name: String) throws -> Int64 {
            let line = try #require(
                text.firstMatch(of: try Regex("timeout \(name) ([0-9]+)s", as: (Substring, Substring).self)))
            return try #require(Int64(line.output.1))
        }
        #expect(AttachmentsLimits.runMax < Duration.seconds(try seconds("server")))
        #expect(Double(try seconds("server")) > AttachmentsLimits.stallSecondsMax)
        #expect(RuntimeLimits.httpIdleSeconds > (try seconds("http-keep-alive")))
        #expect(RuntimeLimits.httpIdleSeconds > (try seconds("server")))
    }
}
