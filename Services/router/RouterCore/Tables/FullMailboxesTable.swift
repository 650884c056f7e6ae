import Store

/// `router.full_mailboxes`: mailboxes that hold much of what they may, for operators.
enum FullMailboxesTable {
    /// A router may remember a mailbox longer than its recipient is there.
    static func note(_ mailboxes: [MailboxLoads.FullMailbox]) -> SQL {
        """
        INSERT INTO router.full_mailboxes AS known (recipient, messages, bytes, fill, seen_at)
        SELECT recipient, messages, bytes, fill, now()
        FROM unnest(\(mailboxes.map(\.recipient))::int8[], \(mailboxes.map { Int64($0.mail.messages) })::int8[],
            \(mailboxes.map { Int64($0.mail.bytes) })::int8[], \(mailboxes.map(\.fill))::float8[])
            AS seen (recipient, messages, bytes, fill)
        WHERE EXISTS (SELECT FROM auth.mail_identities i WHERE i.whisper_id = seen.recipient)
        ON CONFLICT (recipient) DO UPDATE
            SET messages = excluded.messages, bytes = excluded.bytes, fill = excluded.fill, seen_at = excluded.seen_at
        """
    }

    /// The view shows no row for so long.
    static func forget() -> SQL { "DELETE FROM router.full_mailboxes WHERE seen_at < now() - interval '1 hour'" }
}
