package oauth

import "context"

// current returns the record to use for a request, ok false if there is none. A token that is about to expire, or has
// been refused (spent is then that access token), is refreshed first, under the store's lock, unless another process has
// done so meanwhile. The failure is an [*Error]: [NeedsLogin] if the refresh was refused (invalid_grant), [Unreachable]
// if the authorization server was.
func (a *Authorizer) current(ctx context.Context, spent string) (r Record, ok bool, err error) {
	return Record{}, false, nil
}
