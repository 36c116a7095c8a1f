//! Is what one side writes what the other reads?

use super::*;
use crate::build::inventory::Device;

#[test]
fn what_is_written_is_read() {
    let query = Request::Query(Query {
        modules: vec![vec![1, 2].into(), vec![3].into()],
        native: true,
        options: "-g".into(),
        kernels: vec!["k".into(), "l".into()],
    });
    let build = Request::Build { il: vec![3, 2, 35, 7].into(), compile_options: "-g".into(), link_options: "".into() };
    let compile = Request::Compile { il: vec![7].into(), compile_options: "-w".into() };
    let inputs = vec![vec![1].into(), vec![2, 3].into()];
    let link = Request::Link { inputs, compile_options: "-g".into(), link_options: "".into() };
    let opens = [
        Open::Cpu,
        Open::Device(7),
        Open::Ocloc(None),
        Open::Ocloc(Some("/x/libocloc.so".into())),
        Open::Nvidia(Places { cuda: Some("/c".into()), ..Places::default() }),
    ];
    let (il, device) = (vec![7].into(), "pvc".into());
    let offline = Request::Offline { il, device, compile_options: "-g".into(), link_options: "-h".into() };
    let offer = Request::Offer(vec!["pvc".into(), "dg1".into()]);
    let others = [build, Request::Inventory, query, compile, link, offline, offer];
    for request in opens.map(Request::Open).into_iter().chain(others) {
        let bytes = request.encode().unwrap();
        assert_eq!(Request::read(&mut bytes.as_slice()).unwrap(), Some(request));
        for cut in 1..bytes.len() {
            assert!(Request::read(&mut bytes.get(..cut).unwrap()).is_err(), "cut at {cut}");
        }
    }
    let device = Device {
        name: "AMD EPYC".into(),
        compiles: true,
        aspects: vec!["cpu".into(), "fp64".into()],
        sub_group_sizes: vec![4, 64],
        max_parameter_size: 3840,
        gmdid: 0x0500_4000,
        ..Device::default()
    };
    let problems = vec!["broken".into()];
    let inventory = Inventory { loader: "/x".into(), devices: vec![device, Device::default()], problems };
    let answers = KernelAnswers { name: "k".into(), status: 0, answers: vec![(0x11B0, Ok(vec![1; 8])), (7, Err(-30))] };
    let none = KernelAnswers { name: "l".into(), status: -46, answers: Vec::new() };
    let offline = Offline {
        version: "22.43".into(),
        files: vec!["/a/libocloc.so".into(), "/b/libigc.so".into()],
        unknown: vec!["bmg-g21".into()],
        bindful: vec!["dg2".into()],
        in_process: true,
    };
    for reply in [
        Reply::Ready("x".into()),
        Reply::Compiled(Compiled::Built { binary: vec![0; 70000], log: "ü".into() }),
        Reply::Compiled(Compiled::Refused { code: -43, name: "N".into(), log: String::new() }),
        Reply::Inventory(inventory),
        Reply::Offline(offline),
        Reply::Answers { kernels: vec![answers, none], log: "l".into() },
    ] {
        let bytes = reply.encode().unwrap();
        assert_eq!(Reply::read(&mut bytes.as_slice()).unwrap(), Some(reply));
    }
    assert_eq!(Reply::read(&mut [].as_slice()).unwrap(), None);
}

#[test]
fn other_text_is_not_a_frame() {
    let error = Reply::read(&mut b"warning: LLVM says hello".as_slice()).unwrap_err();
    assert_eq!(error.message(), "no frame but \"warning: \"");
    // A header that claims 4 GB costs nothing.
    assert!(Reply::read(&mut b"SBw1\x03\xff\xff\xff\xff".as_slice()).is_err());
    assert!(Reply::read(&mut b"SBw1\x03\x00\x00\x00\x40".as_slice()).is_err());
    assert!(Reply::read(&mut b"SBw1\x03\x04\x00\x00\x00\xff\xff\xff\xff".as_slice()).is_err());
}

#[test]
fn sizes_that_are_none_are_errors() {
    // Numbers are eight bytes each, and an answer has a head of twelve.
    assert!(Fields(&[4, 0, 0, 0, 1, 2, 3, 4]).numbers().is_err());
    assert_eq!(Fields(&[8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).numbers().unwrap(), [1]);
    let inventory = Inventory { devices: vec![Device::default()], ..Inventory::default() };
    let mut fields = inventory.encode();
    fields.last_mut().unwrap().truncate(40);
    let damaged = frame(6, &slices(&fields)).unwrap();
    assert!(Reply::read(&mut damaged.as_slice()).is_err());
    let answers: [&[u8]; 4] = [b"log", b"kernel", &[0; 4], &[0; 5]];
    assert!(Reply::read(&mut frame(7, &answers).unwrap().as_slice()).is_err());
}
