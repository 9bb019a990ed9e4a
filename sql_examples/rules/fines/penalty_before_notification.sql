-- A penalty that is added before the offender was notified.
PATTERN SEQ('Create Fine' f, !'Insert Fine Notification' n, 'Add penalty' p)
MATCHES FIRST
