// The script in the pods of Envoys for single requests to their admin interface. The chart has the same one in files/admin.pl.

/** Text of admin.pl. */
export const ADMIN_SCRIPT = String.raw`# perl admin.pl METHOD PATH [SOCKET]: one request to Envoy's admin interface, which listens on a Unix socket; its answer on stdout.
# Perl, as Envoy's image has it and no curl.
use strict;
use warnings;
use IO::Socket::UNIX;

my ($method, $path, $peer) = @ARGV;
die "usage: perl admin.pl METHOD PATH, e.g. GET /stats\n" unless defined $path;
my $socket = IO::Socket::UNIX->new(Peer => $peer // '/run/envoy/admin.sock')
  or die "Envoy's admin interface cannot be reached: $!\n";
print {$socket} "$method $path HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
$socket->flush;
my $answer = do { local $/; <$socket> } // '';
my ($head, $body) = split /\r\n\r\n/, $answer, 2;
die "Envoy's admin interface gave no answer\n" unless defined $body;
if ($head =~ /^transfer-encoding: *chunked/mi) {
  my $whole = '';
  while ($body =~ /\G([0-9a-f]+)\r\n/gci and my $size = hex $1) {
    $whole .= substr $body, pos $body, $size;
    pos($body) += $size + 2;
  }
  $body = $whole;
}
print $body;
exit($head =~ m{^HTTP/1\.1 2} ? 0 : 1);
`
