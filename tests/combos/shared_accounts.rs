//! Several accounts of one quota pool at once (resilience specification, 14.4): each has as many places as its owner says,
//! whatever the others have, and whoever finds all taken stands in line.

use fake_upstream::Gate;

use crate::quota_share::{Shared, all_succeed};

#[tokio::test]
async fn every_account_of_a_pool_serves_up_to_its_own_cap_and_the_rest_waits_for_any_of_them() {
    // QS-01 to QS-04, over several accounts
    let shared = Shared::start(3).await;
    shared.open_pool().await;
    let caps = [1, 2, 1];
    for (account, cap) in caps.into_iter().enumerate() {
        shared.cap(account, cap).await;
    }
    let gates: Vec<Gate> = (0..3).map(|account| shared.hold(account)).collect();
    let asking = shared.asking(12);
    for (account, cap) in caps.into_iter().enumerate() {
        shared.world.wait_for_calls(&shared.accounts[account], u64::from(cap)).await;
    }
    shared.world.wait_for_waiting(8).await;
    let calls = || -> Vec<usize> { shared.accounts.iter().map(|account| shared.world.calls(account).len()).collect() };
    assert_eq!(calls(), [1, 2, 1], "no account has more than its places");
    assert_eq!(shared.world.in_flight(), 4);
    gates.iter().for_each(Gate::open);
    all_succeed(asking).await;
    assert_eq!(calls().iter().sum::<usize>(), 12, "none is lost, none asked twice");
    shared.world.settle().await;
    assert_eq!((shared.world.in_flight(), shared.world.picture().waiting), (0, 0));
    shared.world.check_invariants().await;
}

#[tokio::test]
async fn whoever_waits_for_a_busy_account_is_not_helped_by_a_free_place_that_others_have_not_left() {
    // One account is stuck, the others go on: its line is its own.
    let shared = Shared::start(2).await;
    shared.open_pool().await;
    shared.cap(0, 1).await;
    shared.cap(1, 1).await;
    let (stuck, moving) = (shared.hold(0), shared.hold(1));
    let mut asking = shared.asking(2);
    for account in &shared.accounts {
        shared.world.wait_for_calls(account, 1).await;
    }
    asking.extend(shared.asking(4));
    shared.world.wait_for_waiting(4).await;
    moving.open();
    acceptance::until("two who go on", || shared.world.picture().waiting <= 2).await;
    assert_eq!(shared.world.calls(&shared.accounts[0]).len(), 1, "never two at the stuck one");
    stuck.open();
    all_succeed(asking).await;
    let calls: usize = shared.accounts.iter().map(|account| shared.world.calls(account).len()).sum();
    assert_eq!(calls, 6);
    shared.world.check_invariants().await;
}
